"""Drives one episode of an environment server by hand and prints what came of it as JSON.

It is an external caller: stubs made from the proto files, grpcio, and nothing of this repository.

    python drive_episode.py --environment 127.0.0.1:7001
    python drive_episode.py --environment 127.0.0.1:7001 --task task.json --answer "#### 18"
"""

import argparse
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import json_format
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from touchstone.v1 import (
    action_pb2,
    content_pb2,
    describe_pb2,
    environment_pb2,
    environment_pb2_grpc,
    environment_session_pb2,
    environment_step_pb2,
    identity_pb2,
    task_pb2,
)

AGENT = "agent"
DEADLINE_SECONDS = 60
QUESTION = {
    "question": "A tray holds 6 rows of 7 eggs. How many eggs are on the tray?",
    "answer": "6 rows of 7 eggs are 6*7=<<6*7=42>>42 eggs.\n#### 42",
}
ANSWER = "#### 42"


def built_in_task() -> task_pb2.Task:
    """A task of environment `reasoning`, as a row of GSM8K."""
    row = task_pb2.TaskRow(
        data=json.dumps(QUESTION).encode(), media_type="application/json", row_schema="gsm8k"
    )
    task_id = identity_pb2.TaskId(taskset="gsm8k", id="eggs-on-a-tray")
    return task_pb2.Task(task_id=task_id, environment="reasoning", row=row)


def said(answer: str) -> action_pb2.Submission:
    """The submission of one agent whose last message is the answer."""
    message = content_pb2.ChatMessage(
        role=content_pb2.ROLE_ASSISTANT, content=[content_pb2.Block(text=answer)]
    )
    work = action_pb2.AgentSubmission(agent_id=AGENT, items=[content_pb2.Item(chat_message=message)])
    return action_pb2.Submission(agents=[work])


def texts(observation: action_pb2.Observation) -> list[str]:
    """What tools answered in plain text."""
    return [block.text for item in observation.items for block in item.tool_result.content if block.text]


def refusal(error: grpc.Call) -> dict[str, Any]:
    """The machine-readable part of a refused call: its code, and ErrorInfo among the details."""
    status = rpc_status.from_call(error)
    info = error_details_pb2.ErrorInfo()
    for detail in status.details if status else []:
        if detail.Unpack(info):
            break
    return {
        "code": error.code().name,
        "domain": info.domain,
        "reason": info.reason,
        "metadata": dict(info.metadata),
    }


@dataclass
class Verification:
    """How a verification ended, and how the server says that it was delivered."""

    result: environment_pb2.VerifyResult
    delivery: str


class Episode:
    """One attempt at one task: its names, and the calls that carry them."""

    def __init__(self, channel: grpc.Channel) -> None:
        """Makes up the names."""
        self.stub = environment_pb2_grpc.EnvironmentServiceStub(channel)
        rollout = f"polyglot-python-{secrets.token_hex(16)}"
        self.episode_id = identity_pb2.EpisodeId(rollout_id=rollout)
        self.session_id = f"{rollout}.environment"
        self.options: dict[str, Any] = {
            "timeout": DEADLINE_SECONDS,
            "metadata": [("touchstone-key", rollout)],
        }

    def seed(self, task: task_pb2.Task) -> environment_session_pb2.SeedResponse:
        """Starts the session at a whole task."""
        request = environment_session_pb2.SeedRequest(
            session_id=self.session_id,
            context=identity_pb2.EpisodeContext(episode_id=self.episode_id),
            task=task,
        )
        return self.stub.Seed(request, **self.options)

    def calculate(self, expression: str) -> environment_step_pb2.StepResponse:
        """Calls the tool `calculator`, named by an action id: the server numbers the step."""
        call = content_pb2.ToolCall(
            call_id="call-1", name="calculator", arguments_json=json.dumps({"expression": expression})
        )
        request = environment_step_pb2.StepRequest(
            session_id=self.session_id,
            action_id=call.call_id,
            actions=[action_pb2.Action(agent_id=AGENT, tool_call=call)],
        )
        return self.stub.Step(request, **self.options)

    def verify(self, answer: str, index: int) -> Verification:
        """Reads the stream of a final verification to its terminal event."""
        target = environment_pb2.SessionVerification(
            session_id=self.session_id, verification_index=index, final=True
        )
        request = environment_pb2.VerifyRequest(session=target, submission=said(answer))
        events = self.stub.Verify(request, **self.options)
        results = [event.result for event in events if event.WhichOneof("event") == "result"]
        if len(results) != 1:
            raise SystemExit(f"Verify: expected one result, found {len(results)}: the connection was lost")
        trailers = dict(events.trailing_metadata())
        return Verification(results[0], trailers.get("touchstone-delivery", ""))

    def keep_alive(self) -> environment_session_pb2.EnvironmentServiceKeepAliveResponse:
        """Renews the lease."""
        request = environment_session_pb2.EnvironmentServiceKeepAliveRequest(session_id=self.session_id)
        return self.stub.KeepAlive(request, **self.options)

    def close(self) -> environment_session_pb2.EnvironmentServiceCloseResponse:
        """Ends the session; a second time it says so."""
        request = environment_session_pb2.EnvironmentServiceCloseRequest(
            session_id=self.session_id, episode_id=self.episode_id
        )
        return self.stub.Close(request, **self.options)


def drive(channel: grpc.Channel, task: task_pb2.Task, answer: str) -> dict[str, Any]:
    """Describe, Seed, Step, KeepAlive, Verify twice, Close twice; and one call that must be refused."""
    episode = Episode(channel)
    described, call = episode.stub.Describe.with_call(
        environment_pb2.EnvironmentServiceDescribeRequest(), **episode.options
    )
    features = set(described.service.features)
    report: dict[str, Any] = {
        "environment": described.environment,
        "instance_header_equal": dict(call.initial_metadata()).get("touchstone-instance")
        == described.service.instance_id,
        "tool_results": [],
    }
    answer_ids: dict[str, str] = {}
    try:
        seeded = episode.seed(task)
        answer_ids["seed"] = seeded.answer_id
        report["seeded_with"] = seeded.session.task.task_id.id
        if {describe_pb2.FEATURE_TOOLS, describe_pb2.FEATURE_STEP} <= features:
            step = episode.calculate("6*7")
            answer_ids["step"] = step.answer_id
            report["step_index"] = step.step_index
            report["tool_results"] = [
                text for outcome in step.outcomes for text in texts(outcome.observation)
            ]
        report["lease_seconds"] = episode.keep_alive().lease.duration.ToTimedelta().total_seconds()
        try:
            episode.verify(answer, index=7)
        except grpc.RpcError as error:
            if not isinstance(error, grpc.Call):
                raise
            report["refusal"] = refusal(error)
        first, again = episode.verify(answer, index=0), episode.verify(answer, index=0)
        answer_ids["verify"], answer_ids["verify_again"] = first.result.answer_id, again.result.answer_id
        report["deliveries"] = [first.delivery, again.delivery]
        if first.result.WhichOneof("outcome") == "verdict" and first.result.verdict.HasField("reward"):
            report["reward"] = first.result.verdict.reward.value
        elif first.result.HasField("failure"):
            report["failure"] = json_format.MessageToDict(first.result.failure)
    finally:
        receipts = [episode.close().receipt, episode.close().receipt]
    report["already_closed"] = [receipt.already_closed for receipt in receipts]
    report["answer_ids"] = answer_ids
    return report


def main() -> None:
    """Reads the command line, drives, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environment", required=True, metavar="HOST:PORT")
    parser.add_argument("--task", type=Path, help="a Task in proto JSON; without it a built-in question")
    parser.add_argument("--answer", default=ANSWER, help="what the agent says at the end")
    arguments = parser.parse_args()
    task = built_in_task()
    if arguments.task is not None:
        task = json_format.Parse(arguments.task.read_text("utf-8"), task_pb2.Task())
    with grpc.insecure_channel(arguments.environment) as channel:
        print(json.dumps(drive(channel, task, arguments.answer)))


if __name__ == "__main__":
    main()
