// Follows what happens to migrations, and says what it has heard: GANTRY_TOKEN=… go run ./example
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os/signal"
	"sync"
	"syscall"
	"time"

	gantry "github.com/gantry-platform/gantry/sdk/go"
)

func object(name string) map[string]any {
	return map[string]any{
		"type":                 "object",
		"properties":           map[string]any{name: map[string]any{"type": "string", "maxLength": 200}},
		"required":             []string{name},
		"additionalProperties": false,
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	follower, err := gantry.Connect(gantry.About{Prefix: "follower", Name: "Follower", Version: "1.0.0"})
	must(err)

	var mutex sync.Mutex
	events, notes := []string{}, []json.RawMessage{}
	must(follower.Endpoint(gantry.Endpoint{Name: "heard", Summary: "What was heard so far"},
		func(context.Context, json.RawMessage) (any, error) {
			mutex.Lock()
			defer mutex.Unlock()
			return map[string]any{"events": append([]string{}, events...), "notes": append([]json.RawMessage{}, notes...)}, nil
		}))
	must(follower.Endpoint(
		gantry.Endpoint{Name: "migration", Summary: "State of a migration", Input: object("migrationId"), Errors: []string{"NOT_FOUND"}},
		func(ctx context.Context, input json.RawMessage) (any, error) {
			answer, err := follower.Call(ctx, "gantry.services.v1.migrations.get", input)
			if err != nil {
				return nil, err
			}
			var found struct {
				State string `json:"state"`
			}
			return &found, json.Unmarshal(answer, &found)
		}))
	must(follower.Endpoint(
		gantry.Endpoint{Name: "start", Summary: "Start a migration", Input: object("migrationId"), Errors: []string{"NOT_FOUND"}},
		func(ctx context.Context, input json.RawMessage) (any, error) {
			return follower.Call(ctx, "gantry.services.v1.migrations.start", input)
		}))
	must(follower.Endpoint(gantry.Endpoint{Name: "note", Summary: "Keep a note", Input: object("text")},
		func(ctx context.Context, input json.RawMessage) (any, error) {
			var note struct{ Text string }
			if err := json.Unmarshal(input, &note); err != nil {
				return nil, err
			}
			revision, err := follower.Put(ctx, "note", note.Text)
			return map[string]any{"revision": revision}, err
		}))
	must(follower.Ready(ctx))

	go func() {
		must(follower.Follow(ctx, "gantry.events.v1.migrations.>", func(event gantry.Event) {
			mutex.Lock()
			defer mutex.Unlock()
			events = append(events, event.Subject)
		}))
	}()
	go func() {
		after := uint64(0)
		for ctx.Err() == nil {
			err := follower.Watch(ctx, after, func(change gantry.Change) {
				mutex.Lock()
				defer mutex.Unlock()
				after = change.Revision
				notes = append(notes, change.Value)
			})
			if err != nil {
				// The platform was away: go on after the last change that was dealt with.
				log.Printf("asking for changes again: %v", err)
				time.Sleep(time.Second)
			}
		}
	}()
	fmt.Println("follower is registered")
	<-ctx.Done()
	follower.Stop()
}
