"""The assessment server: pages for assessors, teams and the organiser."""
