"""The steps of the flow, load -> stress -> track -> score -> report, and what is built of them."""
