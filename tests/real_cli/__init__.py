"""The real CLIs against a model on loopback."""
