"""Models as files: `.safetensors` weights, each with a `.json` card.

`card`: the content of a card · `save`, `load` · `published`: published checkpoints · `export`: ONNX · `shipped`: the
models of the package, in the folder `models`. `card` and `shipped` do not import torch.
"""
