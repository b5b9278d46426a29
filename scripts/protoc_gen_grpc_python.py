"""The Python gRPC generator as a plugin of protoc or buf.

The package grpcio-tools holds that generator inside its own protoc only: this hands the request over to it.
"""

import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc


def generate(request: CodeGeneratorRequest) -> CodeGeneratorResponse:
    """Answers the stubs of the files asked for; a failure is told in the answer, as protoc expects it."""
    with tempfile.TemporaryDirectory() as scratch:
        descriptors = Path(scratch, "descriptors.binpb")
        descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
        out = Path(scratch, "out")
        out.mkdir()
        status = protoc.main(
            [
                "protoc",
                f"--descriptor_set_in={descriptors}",
                f"--grpc_python_out={request.parameter}:{out}",
                *request.file_to_generate,
            ]
        )
        if status != 0:
            return CodeGeneratorResponse(error=f"grpcio-tools ended with {status}; its message stands above")
        return CodeGeneratorResponse(
            supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL,
            file=[
                CodeGeneratorResponse.File(name=str(path.relative_to(out)), content=path.read_text("utf-8"))
                for path in sorted(out.rglob("*.py"))
            ],
        )


if __name__ == "__main__":
    answer = generate(CodeGeneratorRequest.FromString(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(answer.SerializeToString())
