// Ten calls with the client that was generated for Go, a line of output for each.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/gantry/client"
)

// must ends the program where a call fails.
func must[T any](value T, _ any, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("GANTRY_URL")}}
	api := client.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), client.ContextAccessToken, os.Getenv("GANTRY_TOKEN"))
	name := "go"

	fmt.Println(must(api.PlatformAPI.PlatformPing(ctx).Execute()).Message)
	fmt.Println(must(api.PlatformAPI.PlatformInfo(ctx).Execute()).Name)
	fmt.Println(must(api.KeysAPI.KeysSelf(ctx).Execute()).Kind)

	local := *client.NewFilesystemsCreateLocalRequest(name, "target")
	local.SetFsRoot(os.Getenv("GANTRY_FOLDER"))
	fmt.Println(must(api.FilesystemsAPI.FilesystemsCreateLocal(ctx).FilesystemsCreateLocalRequest(local).Execute()).FsType)
	fmt.Println(must(api.FilesystemsAPI.FilesystemsGet(ctx, name).Execute()).IsSource)

	size := *client.NewExclusionsCreateFileSizeRequest(name, 6, "GB")
	fmt.Println(*must(api.ExclusionsAPI.ExclusionsCreateFileSize(ctx).ExclusionsCreateFileSizeRequest(size).Execute()).MaxBytes)
	fmt.Println(must(api.ExclusionsAPI.ExclusionsGet(ctx, name).Execute()).Type)
	must(api.ExclusionsAPI.ExclusionsDelete(ctx, name).Execute())
	fmt.Println("deleted")

	checked := api.RbacAPI.RbacCheck(ctx).Action("publish").Subject("gantry.services.v1.keys.list")
	fmt.Println(must(checked.Execute()).Allowed)

	_, answer, err := api.KeysAPI.KeysGet(ctx, "k0123456789abc").Execute()
	var failure *client.GenericOpenAPIError
	if !errors.As(err, &failure) {
		log.Fatal("a key that is not there was found: ", err)
	}
	var body struct{ Code string }
	if err := json.Unmarshal(failure.Body(), &body); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.StatusCode, body.Code)
}
