"""What is done to an application while it is stopped: starting it afresh, and giving it another number of tasks."""
