"""Who judges: accounts of people and of language models, and limits of logins."""
