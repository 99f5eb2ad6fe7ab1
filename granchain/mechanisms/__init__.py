"""Planar mechanisms: rigid bodies with one or two free coordinates, a driven crank, and a joint
with clearance.

The contacts in the joint use the laws of `granchain.contact` unchanged, through the contact step of
the engine. The equations of motion have constant masses, so that the time integration is the same
as for a chain.
"""
