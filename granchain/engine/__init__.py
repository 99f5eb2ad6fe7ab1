"""The engine: a contact law specialised to a compiled time loop."""
