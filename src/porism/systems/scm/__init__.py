"""SCM: search in a soft vector space, where similar tokens of query and answer count as partial matches."""
