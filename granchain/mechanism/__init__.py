"""Planar mechanisms: rigid bodies with one or two free coordinates, a crank whose turning is given,
and a joint with play.

The contacts in the joint take the laws of `granchain.contact` as they are, through the engine's
contact step; the equations of motion have constant masses, so that the scheme is that of the row of
beads.
"""
