"""Import names, and the distributions that pip is asked for to provide them."""
