"""The bungee exercise."""
