package review_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/corewait/corewait/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Main(m)) }
