"""How people type on a phone: a stressor, a tracker and a metric for dstress."""
