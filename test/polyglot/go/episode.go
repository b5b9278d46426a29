package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	touchstonev1 "touchstone.dev/gen/go/touchstone/v1"
)

// report is what the program prints.
type report struct {
	Environment         string            `json:"environment"`
	InstanceHeaderEqual bool              `json:"instance_header_equal"`
	SeededWith          string            `json:"seeded_with"`
	StepIndex           *uint32           `json:"step_index,omitempty"`
	ToolResults         []string          `json:"tool_results"`
	LeaseSeconds        float64           `json:"lease_seconds"`
	Refusal             *refusal          `json:"refusal,omitempty"`
	Reward              *float64          `json:"reward,omitempty"`
	Failure             string            `json:"failure,omitempty"`
	Deliveries          []string          `json:"deliveries"`
	AlreadyClosed       []bool            `json:"already_closed"`
	AnswerIDs           map[string]string `json:"answer_ids"`
}

// refusal is the machine-readable part of a refused call: its code, and ErrorInfo among the details.
type refusal struct {
	Code     string            `json:"code"`
	Domain   string            `json:"domain"`
	Reason   string            `json:"reason"`
	Metadata map[string]string `json:"metadata"`
}

// episode is one attempt at one task: its names, and the calls that carry them.
type episode struct {
	client    touchstonev1.EnvironmentServiceClient
	id        *touchstonev1.EpisodeId
	sessionID string
}

func newEpisode(client touchstonev1.EnvironmentServiceClient) (*episode, error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	rollout := "polyglot-go-" + hex.EncodeToString(random)
	return &episode{
		client:    client,
		id:        &touchstonev1.EpisodeId{RolloutId: rollout},
		sessionID: rollout + ".environment",
	}, nil
}

func (e *episode) seed(ctx context.Context, task *touchstonev1.Task) (*touchstonev1.SeedResponse, error) {
	return e.client.Seed(ctx, &touchstonev1.SeedRequest{
		SessionId: e.sessionID,
		Context:   &touchstonev1.EpisodeContext{EpisodeId: e.id},
		Source:    &touchstonev1.SeedRequest_Task{Task: task},
	})
}

// calculate calls the tool calculator, named by an action id: the server numbers the step.
func (e *episode) calculate(ctx context.Context, arguments string) (*touchstonev1.StepResponse, error) {
	call := &touchstonev1.ToolCall{CallId: "call-1", Name: "calculator", ArgumentsJson: arguments}
	return e.client.Step(ctx, &touchstonev1.StepRequest{
		SessionId: e.sessionID,
		Name:      &touchstonev1.StepRequest_ActionId{ActionId: call.CallId},
		Actions: []*touchstonev1.Action{
			{AgentId: agent, Kind: &touchstonev1.Action_ToolCall{ToolCall: call}},
		},
	})
}

// verify reads the stream of a final verification to its end and answers the result with the word of the
// trailer touchstone-delivery.
func (e *episode) verify(ctx context.Context, answer string, index uint32) (*touchstonev1.VerifyResult, string, error) {
	stream, err := e.client.Verify(ctx, &touchstonev1.VerifyRequest{
		Target: &touchstonev1.VerifyRequest_Session{Session: &touchstonev1.SessionVerification{
			SessionId:         e.sessionID,
			VerificationIndex: index,
			Final:             true,
		}},
		Submission: said(answer),
	})
	if err != nil {
		return nil, "", err
	}
	var result *touchstonev1.VerifyResult
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", err
		}
		if event.GetResult() != nil {
			result = event.GetResult()
		}
	}
	if result == nil {
		return nil, "", errors.New("verify: expected a result, found none: the connection was lost")
	}
	return result, first(stream.Trailer(), "touchstone-delivery"), nil
}

func (e *episode) keepAlive(ctx context.Context) (*touchstonev1.EnvironmentServiceKeepAliveResponse, error) {
	return e.client.KeepAlive(ctx, &touchstonev1.EnvironmentServiceKeepAliveRequest{SessionId: e.sessionID})
}

func (e *episode) close(ctx context.Context) (*touchstonev1.EnvironmentServiceCloseResponse, error) {
	return e.client.Close(ctx, &touchstonev1.EnvironmentServiceCloseRequest{
		SessionId: e.sessionID,
		EpisodeId: e.id,
	})
}

// said is the submission of one agent whose last message is the answer.
func said(answer string) *touchstonev1.Submission {
	message := &touchstonev1.ChatMessage{
		Role:    touchstonev1.Role_ROLE_ASSISTANT,
		Content: []*touchstonev1.Block{{Kind: &touchstonev1.Block_Text{Text: answer}}},
	}
	return &touchstonev1.Submission{Agents: []*touchstonev1.AgentSubmission{{
		AgentId: agent,
		Items:   []*touchstonev1.Item{{Kind: &touchstonev1.Item_ChatMessage{ChatMessage: message}}},
	}}}
}

// toolTexts is what tools answered in plain text.
func toolTexts(step *touchstonev1.StepResponse) []string {
	texts := []string{}
	for _, outcome := range step.GetOutcomes() {
		for _, item := range outcome.GetObservation().GetItems() {
			for _, block := range item.GetToolResult().GetContent() {
				if block.GetText() != "" {
					texts = append(texts, block.GetText())
				}
			}
		}
	}
	return texts
}

func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

func refusalOf(err error) *refusal {
	got := status.Convert(err)
	told := &refusal{Code: code.Code(got.Code()).String()}
	for _, detail := range got.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			told.Domain, told.Reason, told.Metadata = info.GetDomain(), info.GetReason(), info.GetMetadata()
		}
	}
	return told
}

// drive calls Describe, Seed, Step, KeepAlive, Verify twice and Close twice, and once what must be refused.
func drive(
	ctx context.Context, client touchstonev1.EnvironmentServiceClient, task *touchstonev1.Task, answer string,
) (*report, error) {
	e, err := newEpisode(client)
	if err != nil {
		return nil, err
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "touchstone-key", e.id.GetRolloutId())

	var header metadata.MD
	described, err := client.Describe(ctx, &touchstonev1.EnvironmentServiceDescribeRequest{}, grpc.Header(&header))
	if err != nil {
		return nil, fmt.Errorf("describe: %w", err)
	}
	service := described.GetService()
	told := &report{
		Environment:         described.GetEnvironment(),
		InstanceHeaderEqual: first(header, "touchstone-instance") == service.GetInstanceId(),
		ToolResults:         []string{},
		AnswerIDs:           map[string]string{},
	}
	withTools := slices.Contains(service.GetFeatures(), touchstonev1.Feature_FEATURE_TOOLS) &&
		slices.Contains(service.GetFeatures(), touchstonev1.Feature_FEATURE_STEP)

	if err := e.work(ctx, told, task, answer, withTools); err != nil {
		_, closing := e.close(ctx)
		return nil, errors.Join(err, closing)
	}
	for range 2 {
		closed, err := e.close(ctx)
		if err != nil {
			return nil, fmt.Errorf("close: %w", err)
		}
		told.AlreadyClosed = append(told.AlreadyClosed, closed.GetReceipt().GetAlreadyClosed())
	}
	return told, nil
}

// work does what lies between Describe and Close.
func (e *episode) work(
	ctx context.Context, told *report, task *touchstonev1.Task, answer string, withTools bool,
) error {
	seeded, err := e.seed(ctx, task)
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	told.AnswerIDs["seed"] = seeded.GetAnswerId()
	told.SeededWith = seeded.GetSession().GetTask().GetTaskId().GetId()

	if withTools {
		step, err := e.calculate(ctx, `{"expression": "6*7"}`)
		if err != nil {
			return fmt.Errorf("step: %w", err)
		}
		index := step.GetStepIndex()
		told.AnswerIDs["step"], told.StepIndex, told.ToolResults = step.GetAnswerId(), &index, toolTexts(step)
	}

	kept, err := e.keepAlive(ctx)
	if err != nil {
		return fmt.Errorf("keep alive: %w", err)
	}
	told.LeaseSeconds = kept.GetLease().GetDuration().AsDuration().Seconds()

	const gap = 7
	if _, _, err := e.verify(ctx, answer, gap); err != nil {
		told.Refusal = refusalOf(err)
	}

	for _, name := range []string{"verify", "verify_again"} {
		result, delivery, err := e.verify(ctx, answer, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		told.AnswerIDs[name] = result.GetAnswerId()
		told.Deliveries = append(told.Deliveries, delivery)
		if reward := result.GetVerdict().GetReward(); reward != nil {
			value := reward.GetValue()
			told.Reward = &value
		}
		if failure := result.GetFailure(); failure != nil {
			told.Failure = failure.GetKind().String()
		}
	}
	return nil
}
