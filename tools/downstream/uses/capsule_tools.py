"""smolagents-capsule: an agent's code calls its Python and JavaScript sandboxes."""

from scripted_model import ScriptedModel
from smolagents import CodeAgent
from smolagents_capsule import CapsuleJSTool, CapsulePythonTool

CODE = "final_answer([python_repl('6 * 7'), javascript_repl('6 * 7')])"
agent = CodeAgent([CapsulePythonTool(), CapsuleJSTool()], model=ScriptedModel(CODE))
answer = agent.run("What do they give?")
assert answer == ["42", "42"], answer
print("python_repl and javascript_repl answer 42")
