"""ACDNet and the methods it is compared with, behind one interface (`method`)."""
