"""An agent from outside: its process, its stdin, its transcript. Knows nothing of rooms, the store or sockets."""
