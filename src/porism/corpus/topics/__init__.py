"""Topic files of all years, and the topic information of the lab."""
