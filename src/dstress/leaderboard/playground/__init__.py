"""The playground's page: what every stressor makes of one turn, in the viewer and on the platform."""
