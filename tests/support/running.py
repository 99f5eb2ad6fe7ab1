"""A contact law as it runs with some inputs, with access to its declarations and its functions."""


class Running:
    """Model of a law; its functions and the declarations of its class are attributes."""

    def __init__(self, model):
        self.model = model

    def __getattr__(self, name):
        for place in (self.model.functions, self.model, self.model.law):
            if hasattr(place, name):
                return getattr(place, name)
        raise AttributeError(name)
