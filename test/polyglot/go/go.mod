module touchstone.dev/test/polyglot

go 1.26.0

// The stubs, as test/polyglot/generate.ts makes them by buf.gen.go.yaml.
replace touchstone.dev/gen/go => ../../../.cache/polyglot/go

require (
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	touchstone.dev/gen/go v0.0.0
)

require (
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)
