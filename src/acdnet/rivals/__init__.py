"""The learned methods that ACDNet is compared with: CNNMAR, DuDoNet, DSCMAR and DuDoNet++.

Of most of them no code was published that runs; docs/rivals.md says what is known of them and what is assumed here.
"""
