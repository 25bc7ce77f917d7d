"""One port: the page, the socket and a sign of life."""
