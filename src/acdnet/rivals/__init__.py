"""The learned methods that ACDNet is compared with: CNNMAR, DuDoNet, DSCMAR and DuDoNet++.

Their code was never published, or does not run; docs/rivals.md says what is known of them and what is assumed here.
"""
