"""The networks that ACDNet is compared with: CNNMAR, DuDoNet, DSCMAR and DuDoNet++.

For most of them no code was published that runs; docs/comparison.md says what is known and what is assumed here.
"""
