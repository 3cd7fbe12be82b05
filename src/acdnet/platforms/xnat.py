"""The command of XNAT's container service, which reads it from the label `org.nrg.commands` of the image."""

from __future__ import annotations

from typing import Any

from acdnet import __version__
from acdnet.io.scan import NOTICE


def commands() -> list[dict[str, Any]]:
    """Return the value of the label."""
    return [
        {
            "name": "acdnet",
            "label": "Metal artifact reduction (research only)",
            "description": f"Reduces metal artifacts in CT images by ACDNet. {NOTICE}",
            "version": __version__,
            "schema-version": "1.0",
            "type": "docker",
            "image": f"acdnet:{__version__}",
            "command-line": "acdnet platform folder /input /output --method #METHOD#",
            "override-entrypoint": True,
            "mounts": [
                {"name": "dicom-in", "writable": False, "path": "/input"},
                {"name": "result-out", "writable": True, "path": "/output"},
            ],
            "inputs": [
                {
                    "name": "METHOD",
                    "description": "A method of acdnet, or a shipped model",
                    "type": "string",
                    "required": False,
                    "default-value": "acdnet",
                    "replacement-key": "#METHOD#",
                }
            ],
            "outputs": [
                {"name": "result", "description": "Reduced series, report", "required": True, "mount": "result-out"}
            ],
            "xnat": [
                {
                    "name": "acdnet-scan",
                    "label": "Metal artifact reduction (research only)",
                    "description": "Reduce the metal artifacts of a CT scan",
                    "contexts": ["xnat:imageScanData"],
                    "external-inputs": [
                        {
                            "name": "scan",
                            "description": "CT scan",
                            "type": "Scan",
                            "matcher": "'DICOM' in @.resources[*].label",
                            "required": True,
                        }
                    ],
                    "derived-inputs": [
                        {
                            "name": "scan-dicoms",
                            "type": "Resource",
                            "derived-from-wrapper-input": "scan",
                            "provides-files-for-command-mount": "dicom-in",
                            "matcher": "@.label == 'DICOM'",
                        }
                    ],
                    "output-handlers": [
                        {
                            "name": "result-resource",
                            "accepts-command-output": "result",
                            "as-a-child-of": "scan",
                            "type": "Resource",
                            "label": "ACDNET",
                        }
                    ],
                }
            ],
        }
    ]
