// Command polyglot drives one episode of an environment server by hand and prints what came of it as JSON.
//
// It is an external caller: stubs made from the proto files, grpc-go, and nothing of this repository.
//
//	polyglot -environment 127.0.0.1:7001
//	polyglot -environment 127.0.0.1:7001 -task task.json -answer "#### 18"
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"

	touchstonev1 "touchstone.dev/gen/go/touchstone/v1"
)

const (
	agent    = "agent"
	deadline = time.Minute
	question = `{"question": "A tray holds 6 rows of 7 eggs. How many eggs are on the tray?",` +
		` "answer": "6 rows of 7 eggs are 6*7=<<6*7=42>>42 eggs.\n#### 42"}`
)

func main() {
	environment := flag.String("environment", "", "`HOST:PORT` of the server")
	taskFile := flag.String("task", "", "`FILE` of a Task in proto JSON; without it a built-in question")
	answer := flag.String("answer", "#### 42", "what the agent says at the end")
	flag.Parse()
	if err := run(*environment, *taskFile, *answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, taskFile, answer string) (err error) {
	if address == "" {
		return errors.New("expected -environment HOST:PORT, found none")
	}
	task, err := readTask(taskFile)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("environment %s: %w", address, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	report, err := drive(ctx, touchstonev1.NewEnvironmentServiceClient(conn), task, answer)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// readTask reads a task from a file, or makes one of environment reasoning as a row of GSM8K.
func readTask(path string) (*touchstonev1.Task, error) {
	if path == "" {
		return &touchstonev1.Task{
			TaskId:      &touchstonev1.TaskId{Taskset: "gsm8k", Id: "eggs-on-a-tray"},
			Environment: "reasoning",
			Row: &touchstonev1.TaskRow{
				Data:      []byte(question),
				MediaType: "application/json",
				RowSchema: "gsm8k",
			},
		}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	task := &touchstonev1.Task{}
	if err := protojson.Unmarshal(text, task); err != nil {
		return nil, fmt.Errorf("task %s: %w", path, err)
	}
	return task, nil
}
