"""Another number of tasks for a stopped application: every row of every store goes to the task of its key."""
