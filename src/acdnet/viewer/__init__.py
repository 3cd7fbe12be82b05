"""The viewer: a local web page that compares a scan before and after reduction and shows the network stages."""
