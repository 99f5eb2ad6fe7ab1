"""Where each number of a run's state stands in the arrays that the compiled loop works on.

Bodies stand in padded arrays: index 0 is the left wall (or nothing), 1..n the bodies, n+1 the right wall (or nothing), the rest padding at
rest; contact k joins padded bodies k and k+1 for every k. So one sweep over whole vectors serves every chain, without an
exception at its ends.
"""

from __future__ import annotations

# Contacts are padded to whole vectors of this many doubles (AVX-512).
LANES = 8

# Rows of the table of bodies.
U, V, A, MASS, INVERSE_MASS, DT_OVER_M, LOADS, STEADY, WEIGHT = range(9)
BODY_ROWS = 9

# Rows of the table of contacts. START is the overlap at zero displacement: 0 touching, minus the gap, the static overlap, -inf
# where there is no contact. LIMIT is the overlap at which the run stops. The works are those since the last entry of the ledger, the totals
# those up to it, each with the rest that its rounding has left out.
(
    START, ROW, PEAK, REACH, ELASTIC, CLAMP, VISCOUS_WORK, CLAMP_WORK, LOST, LIMIT, KICKED, RECORDED, ENDWISE,
    VISCOUS_TOTAL, VISCOUS_REST, CLAMP_TOTAL, CLAMP_REST,
) = range(17)  # fmt: skip
CONTACT_ROWS = 17

# Numbers: the time step, the step that the state at the block's end allows, the drives' work, displacement and speed of the driven ends,
# and the time [s] over which the last forces' losses are not yet in the ledger.
DT, ALLOWED_STEP, DRIVE_WORK, LEFT_LAST, RIGHT_LAST, LEFT_SPEED, RIGHT_SPEED, LEFT_FORCE, RIGHT_FORCE, PENDING, DRIVE_REST = range(11)
N_NUMBERS = 11

# Counts; ACTIVE: contacts that had an event at the step before, listed in the second row of places. LEAPT: jumps of the force in this step;
# ECHOES: 1 where the kicks of the step before were not the recorded forces.
(
    N_STEPS, N_BODIES, STRIDE, STEP, FRONT, SAMPLE, SNAPSHOT, ENERGY, CLAMPED, WHERE, LEFT_DRIVE, RIGHT_DRIVE, ACTIVE, LEAPT, ECHOES,
) = range(15)  # fmt: skip
N_COUNTS = 15

# Rows of the jumps of a step: the contact, the part of the step that lies behind the jump, the force before and after it; MOVING: 1 where
# it is inside a contact and moves the bodies, SLOPE: by how much the growth of the force [N/s] then jumps with it.
CONTACT, BEHIND, BEFORE, AFTER, MOVING, SLOPE = range(6)
LEAP_ROWS = 6
# Rows of the table of corrections, for laws whose force jumps. EXCESS: by how much the kick of the step before exceeded the recorded force;
# PAST: the recorded force of the step before, beside a contact whose force jumps; KICK: the force that kicks, while the recorded one is
# corrected; SHIFT, of bodies: by how much the predicted velocity is corrected.
EXCESS, PAST, KICK, SHIFT = range(4)
CORRECTION_ROWS = 4

# Kinds of drive.
NO_DRIVE, DISPLACEMENT, FORCE = range(3)

# Columns of the energies; the last three are the parts of what came from outside.
KINETIC, RECOVERABLE, PLASTIC, VISCOUS, CLAMPING, EXTERNAL, GRAVITY, PRECOMPRESSION, DRIVES = range(9)
N_ENERGIES = 9
