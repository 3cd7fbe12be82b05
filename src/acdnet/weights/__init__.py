"""Models on disk: `.safetensors` files, each with a card beside it, and the ones that come with the package.

`card` what a card says · `save` and `load` · `published` reading published checkpoints · `export` to ONNX ·
`shipped` the models that come with the package, in the folder `models`. `card` and `shipped` need no torch.
"""
