"""Attacks on Porism that anyone can repeat: `attack.fuzz` (hostile inputs) and `attack.chaos` (kills, damage, full
disks, load)."""
