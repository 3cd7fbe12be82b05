"""The methods that ACDNet is compared with, all seen through one interface (`method`)."""
