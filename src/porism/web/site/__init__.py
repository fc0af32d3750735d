"""What the owner of a site decides: its settings, its look, who may read it, and its backups."""
