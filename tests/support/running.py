"""A contact law as it runs with some inputs, with all that it declares within reach: its own
functions, and those that follow from them."""


class Running:
    """The model of a law; its functions, and what its class declares, are attributes."""

    def __init__(self, model):
        self.model = model

    def __getattr__(self, name):
        for place in (self.model.functions, self.model, self.model.law):
            if hasattr(place, name):
                return getattr(place, name)
        raise AttributeError(name)
