"""The networks that ACDNet is compared with: CNNMAR, DuDoNet, DSCMAR and DuDoNet++.

Most have no working published code; docs/comparison.md states what is known and what is assumed.
"""
