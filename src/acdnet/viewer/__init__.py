"""The viewer: a page on this computer that shows what was removed from a scan, and why."""
