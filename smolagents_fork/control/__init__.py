"""Control over what runs: functions of the user that are asked before code and before tools."""
