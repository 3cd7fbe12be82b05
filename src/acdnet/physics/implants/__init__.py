"""Metal for slices: shapes by formula and by body site, shapes given by the user, and where to put them."""
