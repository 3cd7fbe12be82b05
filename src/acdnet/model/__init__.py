"""The paper: one file per idea.

`wcd` the model of the artifact (Eq. 2) · `prox` the proximal networks (Sec. 3) · `stage` one iteration of the
solver (Eqs. 10, 12, 14) · `start` the initialisation (supplement) · `acdnet` the T stages together ·
`dictionary` the initial values of D · `residual` the blocks of the proximal networks · `loss` the training loss
(Eq. 15).
"""
