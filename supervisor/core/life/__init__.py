"""A life of their own: what agents do when nobody asks anything of them."""
