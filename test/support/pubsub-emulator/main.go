// Google's own test server of Pub/Sub, which speaks gRPC alone, with the calls of REST that subscriptions are read by before
// it: the JSON of each is what protojson makes of its message, as at the service. Arguments: project, topic, subscription.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	rpc "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

var statuses = map[codes.Code]int{
	codes.InvalidArgument: 400, codes.PermissionDenied: 403, codes.NotFound: 404, codes.Unavailable: 503,
}

func main() {
	server := pstest.NewServer()
	ctx := context.Background()
	project := "projects/" + os.Args[1]
	topic := &pb.Topic{Name: project + "/topics/" + os.Args[2]}
	must(server.GServer.CreateTopic(ctx, topic))
	must(server.GServer.CreateSubscription(ctx, &pb.Subscription{
		Name: project + "/subscriptions/" + os.Args[3], Topic: topic.Name, AckDeadlineSeconds: 10,
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	// It ends with whoever started it.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Printf("grpc %s rest %s\n", server.Addr, listener.Addr())
	panic(http.Serve(listener, handler(&server.GServer)))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func handler(server *pstest.GServer) http.HandlerFunc {
	return func(answer http.ResponseWriter, asked *http.Request) {
		path, operation, _ := strings.Cut(strings.TrimPrefix(asked.URL.Path, "/v1/"), ":")
		body, err := io.ReadAll(asked.Body)
		var said proto.Message
		ctx := asked.Context()
		switch {
		case err != nil:
		case asked.Method == "GET" && operation == "":
			said, err = server.GetSubscription(ctx, &pb.GetSubscriptionRequest{Subscription: path})
		case asked.Method == "POST" && operation == "pull":
			request := &pb.PullRequest{}
			if err = protojson.Unmarshal(body, request); err == nil {
				request.Subscription = path
				said, err = server.Pull(ctx, request)
			}
		case asked.Method == "POST" && operation == "acknowledge":
			request := &pb.AcknowledgeRequest{}
			if err = protojson.Unmarshal(body, request); err == nil {
				request.Subscription = path
				said, err = server.Acknowledge(ctx, request)
			}
		case asked.Method == "POST" && operation == "modifyAckDeadline":
			request := &pb.ModifyAckDeadlineRequest{}
			if err = protojson.Unmarshal(body, request); err == nil {
				request.Subscription = path
				said, err = server.ModifyAckDeadline(ctx, request)
			}
		default:
			err = status.Error(codes.NotFound, "no such call")
		}
		respond(answer, said, err)
	}
}

func respond(answer http.ResponseWriter, said proto.Message, err error) {
	answer.Header().Set("content-type", "application/json")
	if err == nil {
		_, _ = answer.Write(must(protojson.Marshal(said)))
		return
	}
	known := status.Convert(err)
	code, isKnown := statuses[known.Code()]
	if !isKnown {
		code = 500
	}
	answer.WriteHeader(code)
	name := rpc.Code_name[int32(known.Code())]
	_, _ = fmt.Fprintf(answer, `{"error":{"code":%d,"message":%q,"status":%q}}`, code, known.Message(), name)
}
