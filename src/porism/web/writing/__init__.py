"""Changes over HTTP: tokens, the calls that take changes, and the processes that apply and merge them."""
