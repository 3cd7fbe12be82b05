"""The paper: one file per idea.

`wcd` the model of the artifact (Eq. 2) · `prox` the proximal networks (Sec. 3) · `stage` one iteration of the
solver (Eqs. 10, 12, 14) · `start` the initialisation (supplement) · `acdnet` the T stages together ·
`dictionary` where D begins · `inference` the same network, made ready to be used.
"""
