"""What things mean and what follows from them. Pure: no clock, no process, no file, no socket."""
